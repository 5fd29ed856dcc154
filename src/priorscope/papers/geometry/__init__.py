"""The geometry of the input space of networks at initialisation and along training."""
