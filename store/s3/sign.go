package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// noBody is the SHA-256 of nothing.
const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sign signs a request, whose path and query are encoded as [encode] does and whose
// query is sorted: AWS Signature Version 4.
func sign(r *http.Request, path string, who credentials.Value, region string, now time.Time) {
	now = now.UTC()
	date := now.Format("20060102T150405Z")
	day := date[:8]
	r.Header.Set("X-Amz-Date", date)
	sum256 := r.Header.Get("X-Amz-Content-Sha256")
	if sum256 == "" {
		sum256 = noBody
		r.Header.Set("X-Amz-Content-Sha256", sum256)
	}
	if who.SessionToken != "" {
		r.Header.Set("X-Amz-Security-Token", who.SessionToken)
	}

	// Proxies may change other headers, or add some.
	names := make([]string, 1, 8)
	names[0] = "host"
	for name := range r.Header {
		if name == "Range" || strings.HasPrefix(name, "X-Amz-") {
			names = append(names, strings.ToLower(name))
		}
	}
	slices.Sort(names)
	signed := strings.Join(names, ";")

	var b strings.Builder
	b.Grow(1 << 10)
	b.WriteString(r.Method + "\n" + path + "\n" + r.URL.RawQuery + "\n")
	for _, name := range names {
		value := r.Host
		if name != "host" {
			value = strings.TrimSpace(r.Header.Get(name))
		}
		b.WriteString(name + ":" + value + "\n")
	}
	b.WriteString("\n" + signed + "\n" + sum256)
	sum := sha256.Sum256([]byte(b.String()))

	scope := day + "/" + region + "/s3/aws4_request"
	key := keyOf(who.SecretAccessKey, day, region)
	signature := mac(key[:], "AWS4-HMAC-SHA256\n"+date+"\n"+scope+"\n"+hex.EncodeToString(sum[:]))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+who.AccessKeyID+"/"+scope+
		", SignedHeaders="+signed+", Signature="+hex.EncodeToString(signature[:]))
}

// daily is the key that signs all requests of a day.
type daily struct {
	secret, day, region string
	key                 [32]byte
}

var lastKey atomic.Pointer[daily]

// keyOf returns the key of a day, which is kept: most often it is the same.
func keyOf(secret, day, region string) [32]byte {
	if k := lastKey.Load(); k != nil && k.secret == secret && k.day == day && k.region == region {
		return k.key
	}
	key := mac([]byte("AWS4"+secret), day)
	for _, part := range []string{region, "s3", "aws4_request"} {
		key = mac(key[:], part)
	}
	lastKey.Store(&daily{secret, day, region, key})
	return key
}

func mac(key []byte, text string) (sum [32]byte) {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	h.Sum(sum[:0])
	return sum
}

// encode escapes all bytes but letters, digits and -._~, as signatures do; slashes of
// paths, too, stay.
func encode(text string, isPath bool) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(text) + 16)
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '-', c == '.', c == '_', c == '~', c == '/' && isPath:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}
