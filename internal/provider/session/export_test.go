package session

// Inside exposes isInside to the tests of links.
var Inside = isInside
