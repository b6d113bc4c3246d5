package loopback

import (
	"net/http/httptest"
	"testing"
)

func TestIs(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:9464": true, "localhost": true, "localhost:80": true, "[::1]:80": true, "::1": true, "127.8.8.8": true,
		"": false, "example.org": false, "localhost.example.org": false, "0.0.0.0": false, "192.168.0.1:80": false, "127.0.0.1.example.org:80": false,
	} {
		if got := Is(host); got != want {
			t.Errorf("%q is on the loopback interface: %v", host, got)
		}
	}
}

// TestRefusal: a browser is refused if another origin has it ask.
func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		host, origin, site, mode string
		refused                  bool
	}{
		{host: "127.0.0.1:80"},
		{host: "localhost:80", origin: "http://localhost:80", site: "same-origin", mode: "cors"},
		{host: "localhost:80", site: "none", mode: "navigate"},
		{host: "localhost:80", site: "cross-site", mode: "navigate"}, // a link in a chat
		{host: "evil.example:80", refused: true},
		{host: "evil.example:80", origin: "http://evil.example:80", site: "same-origin", mode: "cors", refused: true},
		{host: "localhost:80", origin: "http://evil.example", site: "cross-site", mode: "cors", refused: true},
		{host: "localhost:80", origin: "http://localhost:3000", site: "same-site", mode: "cors", refused: true},
		{host: "localhost:80", origin: "null", refused: true},
		{host: "localhost:80", site: "cross-site", mode: "no-cors", refused: true},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = c.host
		for name, value := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if why := Refusal(r); (why != "") != c.refused {
			t.Errorf("%+v: %q", c, why)
		}
	}
}
