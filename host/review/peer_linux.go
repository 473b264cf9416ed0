package review

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// tellsUsers says that the system reports the user of a connection of the loopback interface.
const tellsUsers = true

// ownerOf returns the id of the user whose socket is connected from local to remote, or unknownUser.
func ownerOf(local, remote *net.TCPAddr) int {
	if local.IP.To4() != nil && remote.IP.To4() != nil {
		if user := findOwner("/proc/net/tcp", tableAddress(local, net.IP.To4), tableAddress(remote, net.IP.To4)); user != unknownUser {
			return user
		}
	}
	return findOwner("/proc/net/tcp6", tableAddress(local, net.IP.To16), tableAddress(remote, net.IP.To16))
}

// tableAddress returns an address as the kernel's table has it: words of 32 bits in the byte order of the machine.
func tableAddress(a *net.TCPAddr, form func(net.IP) net.IP) string {
	var b strings.Builder
	for word := range slices.Chunk(form(a.IP), 4) {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(word))
	}
	return fmt.Sprintf("%s:%04X", b.String(), a.Port)
}

// findOwner looks for a socket of a process. For a socket that its process has closed, the table has no inode and always
// names root as its owner.
func findOwner(table, from, to string) int {
	const local, remote, owner, inode = 1, 2, 7, 9
	f, err := os.Open(table)
	if err != nil {
		return unknownUser
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		field := strings.Fields(lines.Text())
		if len(field) > inode && field[local] == from && field[remote] == to && field[inode] != "0" {
			if user, err := strconv.Atoi(field[owner]); err == nil {
				return user
			}
		}
	}
	return unknownUser
}
