package session

// Inside lets tests hold links against it.
var Inside = isInside
