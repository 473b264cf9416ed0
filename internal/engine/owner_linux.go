package engine

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// checkListener demands that the socket which listens at an IPv4 address belongs to this user.
func checkListener(address string) error {
	const local, state, owner = 1, 3, 7
	const listening = "0A"
	at, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return err
	}
	ip := at.IP.To4()
	// The table has the address in the machine's byte order, which is little-endian wherever we build.
	want := fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], at.Port)
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		field := strings.Fields(lines.Text())
		if len(field) <= owner || field[local] != want || field[state] != listening {
			continue
		}
		if field[owner] == strconv.Itoa(os.Geteuid()) {
			return nil
		}
		return fmt.Errorf("%w: user %s does", ErrNotOwned, field[owner])
	}
	return fmt.Errorf("%w: nobody does", ErrNotOwned)
}
