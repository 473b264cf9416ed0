package controlsocket

// ServeWith is Listen for peers that may take no longer than a test can wait.
var ServeWith = serveWith

// Bounds that tests go up to.
const (
	MaxHeard = maxHeard
	MaxLine  = maxLine
	MaxPath  = maxPath
	MaxPeers = maxPeers
)
