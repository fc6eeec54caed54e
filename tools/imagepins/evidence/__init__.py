"""Result files, observed documents, images → what a bump is merged on: comparison, plot, difference, description."""
