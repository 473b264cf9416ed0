package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/internal/allow"
)

// refusedError reports a target that the list holds and whose name leads where it must not.
type refusedError struct{ target, why string }

func (e *refusedError) Error() string { return e.target + ": " + e.why }

// dialer connects to targets.
type dialer struct {
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	own    func() ([]netip.Addr, error)
}

func newDialer(c Config) dialer {
	d := dialer{lookup: c.Lookup, own: c.Own}
	if d.lookup == nil {
		d.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if d.own == nil {
		d.own = interfaceAddresses
	}
	return d
}

// dial connects to a target. Its name is resolved once, and the addresses that were judged are those
// that are dialed, so that a second answer of the name's server changes nothing.
func (d dialer) dial(ctx context.Context, t allow.Target) (net.Conn, error) {
	addrs, err := d.resolveTarget(ctx, t)
	if err != nil {
		return nil, err
	}
	var failed []error
	for i, addr := range addrs {
		conn, err := dialWithin(ctx, netip.AddrPortFrom(addr, t.Port), len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// leastDial is the least time that an address has while others are left.
const leastDial = 2 * time.Second

// shareOf returns the time of one address, the first of some that are left. One that swallows packets leaves time for the
// others.
func shareOf(left time.Duration, addresses int) time.Duration {
	return max(left/time.Duration(addresses), leastDial)
}

// dialWithin connects to an address, the first of some that are left.
func dialWithin(ctx context.Context, to netip.AddrPort, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, shareOf(time.Until(deadline), left))
		defer cancel()
	}
	return new(net.Dialer).DialContext(ctx, "tcp", to.String())
}

// resolveTarget returns the addresses of a target. A name with one address that is refused is refused
// altogether.
func (d dialer) resolveTarget(ctx context.Context, t allow.Target) ([]netip.Addr, error) {
	if addr, ok := t.Addr(); ok {
		return []netip.Addr{addr}, nil
	}
	addrs, err := d.lookup(ctx, t.Host+".") // the last dot keeps the system's search list out of it
	if err != nil {
		return nil, err
	}
	own, err := d.own()
	if err != nil {
		return nil, fmt.Errorf("addresses of this host: %w", err)
	}
	for i, addr := range addrs {
		addrs[i] = addr.Unmap().WithZone("")
		if why := inwardReason(plainAddress(addr), own); why != "" {
			return nil, &refusedError{target: t.String(), why: fmt.Sprintf("its name resolves to %s, %s", addr, why)}
		}
	}
	if len(addrs) == 0 {
		return nil, errors.New("the name has no address")
	}
	// IPv4 first: a host without a route for IPv6 would wait for each of those addresses.
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return addrs, nil
}

// metadata are the addresses of cloud metadata services that are not link-local.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("168.63.129.16"),   // Azure
	netip.MustParseAddr("192.0.0.192"),     // Oracle
}

// translated is the prefix of IPv4 addresses in a network that has IPv6 only (RFC 6052).
var translated = netip.MustParsePrefix("64:ff9b::/96")

// plainAddress returns the IPv4 address that an IPv6 address stands for, or the address itself.
func plainAddress(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if translated.Contains(addr) {
		bytes := addr.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return addr
}

// inwardReason returns why a name must not lead to the address, or nothing.
func inwardReason(addr netip.Addr, own []netip.Addr) string {
	switch {
	case addr.IsLoopback(), addr.Is4() && addr.As4()[0] == 0, addr.IsUnspecified():
		return "which is loopback"
	case addr.IsLinkLocalUnicast(), slices.Contains(metadata, addr):
		return "which is link-local or a metadata service"
	case addr.IsMulticast():
		return "which is not a host"
	case slices.Contains(own, addr):
		return "which is this host"
	}
	return ""
}

func interfaceAddresses() ([]netip.Addr, error) {
	entries, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	for _, entry := range entries {
		if prefix, err := netip.ParsePrefix(entry.String()); err == nil {
			addrs = append(addrs, plainAddress(prefix.Addr()))
		}
	}
	return addrs, nil
}
