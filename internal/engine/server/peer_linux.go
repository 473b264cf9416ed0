package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// tellsUsers says that the system tells the user of a connection.
const tellsUsers = true

// ownerOf returns the id of the user whose socket is connected from local to remote, or
// unknownUser.
func ownerOf(local, remote *net.TCPAddr) int {
	const mapped = "0000000000000000FFFF0000" // an IPv4 address in a table of IPv6
	from, to := tableAddress(local), tableAddress(remote)
	if user := findOwner("/proc/net/tcp", from, to); user != unknownUser {
		return user
	}
	return findOwner("/proc/net/tcp6", mapped+from, mapped+to)
}

// tableAddress returns an IPv4 address as the kernel's table has it: in the machine's byte order,
// which is little-endian wherever the engine is built.
func tableAddress(a *net.TCPAddr) string {
	ip := slices.Clone(a.IP.To4())
	slices.Reverse(ip)
	return fmt.Sprintf("%s:%04X", strings.ToUpper(hex.EncodeToString(ip)), a.Port)
}

// findOwner looks for a socket of a process. The table has no inode for one that its process has closed,
// and calls root its owner, whoever it was.
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
