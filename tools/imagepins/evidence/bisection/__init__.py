"""A good and a bad commit of a pin → the commit that broke the image."""
