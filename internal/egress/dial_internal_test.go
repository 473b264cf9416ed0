package egress

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/allow"
)

// In a network that has IPv6 only an address by translation is the way to a host that has IPv4 only.
func TestATranslatedAddressIsDialedAsItIs(t *testing.T) {
	translated := netip.MustParseAddr("64:ff9b::8c52:7903")
	d := newDialer(Config{
		Lookup: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{translated}, nil },
		Own:    func() ([]netip.Addr, error) { return nil, nil },
	})
	got, err := d.resolveTarget(t.Context(), allow.Target{Host: "name.example", Port: 443})
	if err != nil || len(got) != 1 || got[0] != translated {
		t.Errorf("%v, %v", got, err)
	}
}

func TestShareOfAnAddress(t *testing.T) {
	for _, tt := range []struct {
		left      time.Duration
		addresses int
		want      time.Duration
	}{{30 * time.Second, 3, 10 * time.Second}, {10 * time.Second, 1, 10 * time.Second}, {3 * time.Second, 2, 2 * time.Second}} {
		if got := shareOf(tt.left, tt.addresses); got != tt.want {
			t.Errorf("one of %d addresses has %s of %s, want %s", tt.addresses, got, tt.left, tt.want)
		}
	}
}
