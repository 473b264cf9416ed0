package allow_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/allow"
)

func TestParse(t *testing.T) {
	for name, tt := range map[string]struct{ text, want, fails string }{
		"a name":                       {text: "proxy.golang.org:443", want: "proxy.golang.org:443"},
		"a name in upper case":         {text: "Proxy.GoLang.org:443", want: "proxy.golang.org:443"},
		"a name in punycode":           {text: "xn--bcher-kva.example:443", want: "xn--bcher-kva.example:443"},
		"a name of one label":          {text: "mirror:8080", want: "mirror:8080"},
		"an address":                   {text: "10.0.0.7:5432", want: "10.0.0.7:5432"},
		"loopback":                     {text: "127.0.0.1:8080", want: "127.0.0.1:8080"},
		"IPv6":                         {text: "[2001:DB8:0::1]:443", want: "[2001:db8::1]:443"},
		"IPv6 loopback":                {text: "[::1]:8080", want: "[::1]:8080"},
		"nothing":                      {text: "", fails: "port is missing"},
		"no port":                      {text: "proxy.golang.org", fails: "port is missing"},
		"no port after brackets":       {text: "[::1]", fails: "port is missing"},
		"no host":                      {text: ":443", fails: "host is missing"},
		"an empty port":                {text: "a.example:", fails: "from 1 to 65535"},
		"port 0":                       {text: "a.example:0", fails: "from 1 to 65535"},
		"a large port":                 {text: "a.example:65536", fails: "from 1 to 65535"},
		"a signed port":                {text: "a.example:+443", fails: "from 1 to 65535"},
		"a port with a zero before it": {text: "a.example:0443", fails: "from 1 to 65535"},
		"a named port":                 {text: "a.example:https", fails: "from 1 to 65535"},
		"a URL":                        {text: "https://a.example:443", fails: "without a scheme"},
		"a path":                       {text: "a.example/x:443", fails: "without a scheme"},
		"a user":                       {text: "user@a.example:443", fails: "user name"},
		"a wildcard":                   {text: "*.example:443", fails: "wildcards"},
		"everything":                   {text: "*:443", fails: "wildcards"},
		"a last dot":                   {text: "a.example.:443", fails: "last dot"},
		"an empty label":               {text: "a..example:443", fails: `"" cannot be a part`},
		"a hyphen at the end":          {text: "a-.example:443", fails: `"a-" cannot be a part`},
		"a space":                      {text: "a b.example:443", fails: "cannot be a part"},
		"a line end":                   {text: "a.example\r\n:443", fails: "cannot be a part"},
		"a NUL":                        {text: "a.example\x00:443", fails: "cannot be a part"},
		"a percent sign":               {text: "a%2eexample:443", fails: "cannot be a part"},
		"non-ASCII":                    {text: "bücher.example:443", fails: "xn--"},
		"a dot that is non-ASCII":      {text: "a。example:443", fails: "xn--"},
		"localhost":                    {text: "localhost:8080", fails: "127.0.0.1 or [::1]"},
		"below localhost":              {text: "x.localhost:8080", fails: "127.0.0.1 or [::1]"},
		"a short address":              {text: "127.1:8080", fails: "not an IP address"},
		"a decimal address":            {text: "2130706433:8080", fails: "not an IP address"},
		"a hexadecimal address":        {text: "0x7f000001:8080", fails: "not an IP address"},
		"a hexadecimal part":           {text: "127.0.0.0x1:8080", fails: "not an IP address"},
		"an octal address":             {text: "0177.0.0.1:8080", fails: "not an IP address"},
		"IPv6 without brackets":        {text: "::1:8080", fails: "in brackets"},
		"IPv4 in brackets":             {text: "[127.0.0.1]:8080", fails: "not an IP address"},
		"IPv4 in IPv6":                 {text: "[::ffff:127.0.0.1]:8080", fails: "write the IPv4 address"},
		"a zone":                       {text: "[fe80::1%eth0]:8080", fails: "zone"},
		"an open bracket":              {text: "[::1:8080", fails: "closing bracket"},
		"the address of no host":       {text: "0.0.0.0:8080", fails: "names no host"},
		"the same in IPv6":             {text: "[::]:8080", fails: "names no host"},
		"multicast":                    {text: "224.0.0.1:8080", fails: "names no host"},
		"broadcast":                    {text: "255.255.255.255:8080", fails: "names no host"},
		"a low port of loopback":       {text: "127.0.0.1:80", fails: "below 1024"},
		"a long label":                 {text: strings.Repeat("a", 64) + ".example:443", fails: "cannot be a part"},
		"a long name":                  {text: strings.Repeat("a.", 127) + "example:443", fails: "too long"},
		"a long text":                  {text: strings.Repeat("a", 400), fails: "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := allow.Parse(tt.text)
			if tt.fails == "" && (err != nil || got.String() != tt.want) {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
			if tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails) || strings.ContainsAny(err.Error(), "\r\n")) {
				t.Errorf("got %q, %v, want an error of one line with %q", got, err, tt.fails)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a.example:443", "[::1]:8080", "127.0.0.1:8080", "A:1", "[fe80::1%1]:1", "0x7f.1:1", "xn--a:65535", "é:1", "İ:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := allow.Parse(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("%q: an error of more lines: %q", text, err)
			}
			return
		}
		again, err := allow.Parse(target.String())
		if err != nil || again != target {
			t.Errorf("%q: %q is read as %q, %v", text, target, again, err)
		}
		if !strings.EqualFold(target.String(), text) && target.Host[0] != ':' && !strings.Contains(target.Host, ":") {
			t.Errorf("%q became %q", text, target)
		}
		if strings.Trim(target.Host, "abcdefghijklmnopqrstuvwxyz0123456789.-:") != "" || target.Port == 0 {
			t.Errorf("%q: %+v", text, target)
		}
	})
}
