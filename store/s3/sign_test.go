package s3

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"
	"pgregory.net/rapid"
)

// TestSignatures: those that Amazon publishes in "Signature Calculations for the
// Authorization Header".
func TestSignatures(t *testing.T) {
	who := credentials.Value{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct{ path, query, rng, signed, signature string }{
		{"/test.txt", "", "bytes=0-9", "host;range;x-amz-content-sha256;x-amz-date",
			"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"/", "lifecycle=", "", "host;x-amz-content-sha256;x-amz-date", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"/", "max-keys=2&prefix=J", "", "host;x-amz-content-sha256;x-amz-date",
			"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		r, err := http.NewRequest(http.MethodGet, "https://examplebucket.s3.amazonaws.com"+c.path+"?"+c.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.rng != "" {
			r.Header.Set("Range", c.rng)
		}
		sign(r, c.path, who, "us-east-1", at)
		want := "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=" +
			c.signed + ", Signature=" + c.signature
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("%s?%s: %s, want %s", c.path, c.query, got, want)
		}
	}
}

// TestSignaturesOfAnyKey holds them against minio-go's.
func TestSignaturesOfAnyKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.String().Draw(t, "key")
		secret := rapid.StringMatching(`[A-Za-z0-9+/]{1,40}`).Draw(t, "secret")
		token := rapid.StringMatching(`[A-Za-z0-9+/=]{0,40}`).Draw(t, "token")
		prefix := rapid.String().Draw(t, "prefix")
		who := credentials.Value{AccessKeyID: "AK", SecretAccessKey: secret, SessionToken: token}
		path, query := "/bucket/"+encode(key, true), "list-type=2&prefix="+encode(prefix, false)
		ask := func() *http.Request {
			r, err := http.NewRequest(http.MethodGet, "https://host:9000"+path+"?"+query, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Amz-Request-Payer", "requester")
			r.Header.Set("Range", "bytes=1-2")
			return r
		}
		ours, theirs := ask(), ask()
		theirs.Header.Set("X-Amz-Content-Sha256", noBody)
		theirs = signer.SignV4(*theirs, "AK", secret, token, "eu-west-1")
		at, err := time.Parse("20060102T150405Z", theirs.Header.Get("X-Amz-Date"))
		if err != nil {
			t.Fatal(err)
		}
		sign(ours, path, who, "eu-west-1", at)
		got, want := ours.Header.Get("Authorization"), theirs.Header.Get("Authorization")
		if got != want || !strings.Contains(got, "range") {
			t.Fatalf("%s, and by minio-go %s", got, want)
		}
	})
}
