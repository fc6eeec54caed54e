"""An image and its benchmark recipe → result files, measured in containers that are gone afterwards."""
