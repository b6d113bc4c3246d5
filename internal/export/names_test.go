package export

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTargets(t *testing.T) {
	for text, want := range map[string]Target{
		"npy:arrays":              {"npy", "arrays", ""},
		"npy:/data/a b/":          {"npy", "/data/a b", ""},
		"npy:c:d%06d":             {"npy", "c:d%06d", ""},
		"tar:out/train-%06d.tar":  {"tar", "out", "train-%06d.tar"},
		"tar:%d.tar":              {"tar", ".", "%d.tar"},
		"tar:/100%/x/a%04db.tar":  {"tar", "/100%/x", "a%04db.tar"},
		"tar:s3-like/%018d-x.tar": {"tar", "s3-like", "%018d-x.tar"},
	} {
		got, err := ParseTarget(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if again, err := ParseTarget(got.String()); err != nil || again != got {
			t.Errorf("%q: as text it is %v, which is %+v", text, got, again)
		}
	}
	for _, text := range []string{
		"", "npy", "npy:", "tar:", "zip:x", "out/train-%06d.tar", "tar:train.tar", "tar:train-%06d",
		"tar:%d-%d.tar", "tar:%s.tar", "tar:%6d.tar", "tar:%%%d.tar", "tar:%06x.tar",
		"tar:%019d.tar", "tar:%00d.tar", "tar:out-%d/train.tar", "tar:\xff%d.tar", "tar:%d.tar.gz",
	} {
		if got, err := ParseTarget(text); err == nil || !strings.Contains(err.Error(), "tar:out/train-%06d.tar") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestShardNames(t *testing.T) {
	target := Target{"tar", ".", "train2%03d-x.tar"}
	for name, want := range map[string]int{"train2000-x.tar": 0, "train2042-x.tar": 42, "train21234-x.tar": 1234} {
		if n, ok := target.isShard(name); !ok || n != want {
			t.Errorf("%s: %d %v", name, n, ok)
		}
		if target.shard(want) != name {
			t.Errorf("%d: %s", want, target.shard(want))
		}
	}
	for _, name := range []string{"train2-x.tar", "train242-x.tar", "train20042-x.tar", "train2000-x.tar.part", "train2+42-x.tar", "train2-42-x.tar", "train2000.tar", "", "-x.tar"} {
		if n, ok := target.isShard(name); ok {
			t.Errorf("%s is taken for shard %d", name, n)
		}
	}
	for name, want := range map[string]string{"train-%06d.tar": "train.lock", "%d.tar": "lock", "a_%d_b.tar": "a.b.lock", "%d-b.tar": "b.lock"} {
		if got := (Target{"tar", ".", name}).beside("lock"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestStems(t *testing.T) {
	for key, want := range map[string]string{
		"cats/tabby.jpg":             "000000012-cats-tabby",
		"/data/train/cats/tab.1.jpg": "000000012-cats-tab_1",
		"tabby.jpg":                  "000000012-tabby",
		"tabby":                      "000000012-tabby",
		"":                           "000000012",
		".jpg":                       "000000012",
		"../x.jpg":                   "000000012-x",
		"/x.jpg":                     "000000012-x",
		"a\nb/\xff c.jpg":            "000000012-a_b-__c",
		"katzen/ä é.jpg":             "000000012-katzen-ä_é",
	} {
		if got := stem(key, 12, 0, false); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
	if got := stem("a.jpg", 1234567890123, 4, true); got != "e4-1234567890123-a" {
		t.Error(got)
	}
}

// webdatasetName is how WebDataset takes a name apart.
var webdatasetName = regexp.MustCompile(`^((?:.*/|)[^.]+)[.]([^/]*)$`)

func TestAnyKeyGivesAName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := string(rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "key"))
		if rapid.Bool().Draw(t, "text") {
			key = rapid.String().Draw(t, "key")
		}
		s := stem(key, rapid.Int64Range(0, 1<<40).Draw(t, "number"), 1, rapid.Bool().Draw(t, "epochs"))
		parts := webdatasetName.FindStringSubmatch(s + ".key.txt")
		if parts == nil || parts[1] != s || parts[2] != "key.txt" {
			t.Fatalf("%q becomes %q", s, parts)
		}
		if len(s) > 200 || !utf8.ValidString(s) || strings.ContainsAny(s, "/\\.\x00\n") || strings.HasPrefix(s, "_") {
			t.Fatalf("%q is not a name for everybody", s)
		}
	})
}

// Whatever a target is, it knows its own shards, takes no other file for one, and means
// the same when it is read again.
func FuzzParseTarget(f *testing.F) {
	for _, text := range []string{"tar:out/train-%06d.tar", "tar:%d.tar", "npy:out", "tar:a/b-%d.x.tar", "tar:%018d-.tar", "npy:", "tar:x.tar", "tar:%%d.tar", "zip:x"} {
		f.Add(text, 7)
	}
	f.Fuzz(func(t *testing.T, text string, number int) {
		target, err := ParseTarget(text)
		if err != nil {
			return
		}
		if again, err := ParseTarget(target.String()); err != nil || again != target {
			t.Errorf("%q became %v, and that %v, %v", text, target, again, err)
		}
		for _, own := range []string{"manifest.json", "journal.json", "lock"} {
			if _, ok := target.isShard(target.beside(own)); ok {
				t.Errorf("%v: %s is a shard", target, target.beside(own))
			}
		}
		if target.Kind != "tar" {
			return
		}
		number = max(0, number, -number-1)
		if got, ok := target.isShard(target.shard(number)); !ok || got != number {
			t.Errorf("%v: shard %d is %q, which is read as %d, %v", target, number, target.shard(number), got, ok)
		}
		if got, ok := target.isShard(text); ok && target.shard(got) != text {
			t.Errorf("%v: %q is taken for shard %d", target, text, got)
		}
	})
}
