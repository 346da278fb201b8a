"""What can be wrong with a delivery."""


class DeliveryError(Exception):
    """What is delivered would not fit together; the message says what to put right."""
