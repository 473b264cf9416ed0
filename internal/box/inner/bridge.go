package inner

import (
	"io"
	"net"
	"os"
	"syscall"
)

// BridgeWord is the first argument of our executable as the bridge from standard input and output to a Unix socket,
// whose path is the second. An agent starts it as the program of an MCP server, in its box or outside. The bridge holds
// no secret: whoever serves the socket judges who is at the other end.
const BridgeWord = "ratchet-bridge"

func init() {
	if len(os.Args) == 3 && os.Args[1] == BridgeWord {
		syscall.Exit(copyBoth(os.Args[2])) // os.Exit would wait a second under the race detector
	}
}

// copyBoth copies both directions. It ends when the socket does, and sends on the end of standard input.
func copyBoth(path string) int {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		os.Stderr.WriteString(BridgeWord + ": " + err.Error() + "\n")
		return 1
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.CloseWrite()
	}()
	if _, err := io.Copy(os.Stdout, conn); err != nil {
		return 1
	}
	return 0
}
