package azure

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// signed are the headers of a signature that have a place in it, in their order.
var signed = []string{"Content-Encoding", "Content-Language", "Content-Length", "Content-MD5", "Content-Type", "Date",
	"If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"}

// sign signs a request, whose path is encoded: Shared Key of the Blob service.
func sign(r *http.Request, account string, key []byte) {
	var b strings.Builder
	b.Grow(512)
	b.WriteString(r.Method + "\n")
	for _, name := range signed {
		b.WriteString(r.Header.Get(name) + "\n")
	}

	var own []string
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Ms-") {
			own = append(own, strings.ToLower(name)+":"+strings.TrimSpace(r.Header.Get(name))+"\n")
		}
	}
	slices.Sort(own)
	b.WriteString(strings.Join(own, "") + "/" + account + r.URL.EscapedPath())
	query := r.URL.Query()
	var names []string
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.WriteString("\n" + strings.ToLower(name) + ":" + strings.Join(query[name], ","))
	}

	h := hmac.New(sha256.New, key)
	h.Write([]byte(b.String()))
	r.Header.Set("Authorization", "SharedKey "+account+":"+base64.StdEncoding.EncodeToString(h.Sum(nil)))
}

// encode escapes the parts of a path.
func encode(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(p), "+", "%2B")
	}
	return strings.Join(parts, "/")
}
