"""What moves: stores fed by informers, a keyed queue, and the ladder that every object climbs."""
