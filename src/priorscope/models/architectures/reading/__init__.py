"""Reading torch modules: what is refused at the door, which layer each call is, how branches meet, and the check of it all."""
