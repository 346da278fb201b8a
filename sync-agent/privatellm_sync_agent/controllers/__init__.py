"""What follows the provider's wishes: schemas, the export, one synchronizer for each published resource.

Nothing here is ever taken back by itself: a PublishedResource that is deleted leaves its schema and its
entry in the export, because removing them would make customers' objects vanish.
"""
