package state

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packedText is text as the Python client packs it.
func packedText(t *testing.T, plain string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, err := w.Write([]byte(plain))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return packedAs + base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestPackedSourcesAreRead(t *testing.T) {
	want := Sources{"read@3": {Samples: 100, Position: 64, Ahead: [][2]int64{{70, 71}}}, "read_2@3": {Samples: 7}}
	plain, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(plain), `"` + packedText(t, string(plain)) + `"`} {
		var s State
		if err := json.Unmarshal([]byte(`{"epoch":3,"sources":`+text+`}`), &s); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(State{Epoch: 3, Sources: want}, s); d != "" {
			t.Error(d)
		}
	}
}

func TestBadPackedSourcesAreRefused(t *testing.T) {
	good := packedText(t, `{"read":{"samples":100,"position":64}}`)
	for text, why := range map[string]string{
		"read":                      `does not begin with "zlib:"`,
		"zlib:read!":                "illegal base64 data",
		"zlib:cmVhZA==":             "zlib: invalid header",
		good[:len(good)-12]:         "unexpected EOF",
		packedText(t, ""):           "no places",
		packedText(t, "[]"):         "no places",
		packedText(t, `{"read":7}`): "cannot unmarshal number",
	} {
		var s State
		if err := json.Unmarshal([]byte(`{"sources":"`+text+`"}`), &s); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.40s: %v, wanted %s", text, err, why)
		}
	}
	_, err := unpack([]byte(`"`+packedText(t, `{"a":{}}`)+`"`), 7)
	if err == nil || !strings.Contains(err.Error(), "more than 7 bytes") {
		t.Error(err)
	}
}
