"""Features as average gradient outer products: what trained weights become, and kernel machines that learn them."""
