// Package loopback knows the hosts that only this machine reaches.
package loopback

import (
	"net"
	"net/http"
	"strings"
)

// Is reports whether a host, with or without a port, is on the loopback interface, where
// only this machine can ask.
func Is(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Refusal returns the reason to refuse a request at a loopback address, or "". A page of
// the web that the user visits could have the browser ask: by a name of its own that
// leads to this machine, or from its own origin. Programs send no Origin.
func Refusal(r *http.Request) string {
	if !Is(r.Host) {
		return "ask for 127.0.0.1 or localhost"
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return "pages of other origins must not ask"
	}
	// A link from elsewhere may be followed; a script from elsewhere must not fetch.
	switch from := r.Header.Get("Sec-Fetch-Site"); from {
	case "", "same-origin", "none":
	default:
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return "pages of other origins must not ask"
		}
	}
	return ""
}
