"""pins.yaml → Dockerfiles → images → proof that what a process loads is what is pinned."""
