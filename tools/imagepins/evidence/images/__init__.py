"""Two images, or what was saved of them → what differs."""
