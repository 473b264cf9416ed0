package controlsocket

// ServeWith is Listen with limits that a test can wait for.
var ServeWith = serveWith

// Limits are those of a server.
type Limits = limits

// Bounds that tests go up to.
const (
	MaxHeard = maxHeard
	MaxLine  = maxLine
	MaxPath  = maxPath
	MaxPeers = maxPeers
)
