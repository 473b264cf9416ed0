// Package compose holds the tests of docker-compose.yml and the worker's Dockerfile; it has no code of its own.
package compose
