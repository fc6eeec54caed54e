"""Plan → built images: docker buildx bake, watched, logged and explained."""
