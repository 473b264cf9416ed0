//go:build !linux

package review

import "net"

// tellsUsers says that the system reports the user of a connection of the loopback interface.
const tellsUsers = false

// ownerOf knows no user here.
func ownerOf(_, _ *net.TCPAddr) int { return unknownUser }
