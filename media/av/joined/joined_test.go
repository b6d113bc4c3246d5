package joined

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// page is a page of Ogg.
func page(flags byte, body ...byte) []byte {
	p := append([]byte("OggS\x00"), flags)
	p = append(p, make([]byte, 20)...)
	return append(append(p, 1, byte(len(body))), body...)
}

// tag is a tag of FLV with what follows it.
func tag(kind byte, body string) []byte {
	b := append([]byte{kind, 0, 0, byte(len(body))}, make([]byte, 7)...)
	return binary.BigEndian.AppendUint32(append(b, body...), uint32(11+len(body)))
}

func element(id string, body string) []byte {
	return append(append([]byte(id), 0x40|byte(len(body)>>8), byte(len(body))), body...)
}

// object is what an object of ASF has behind its name.
func object(body string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(24+len(body))), body...)
}

func TestPartsOfFiles(t *testing.T) {
	ogg := slices.Concat(page(2, 1), page(2, 2), page(0, 3, 4), page(4, 5))
	flv := slices.Concat([]byte("FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00"), tag(18, "about"), tag(9, "FLV\x01 as data"), tag(8, "sound"))
	mkv := slices.Concat(element(ebml, "head"), element("\x18\x53\x80\x67", "all"), element("\xEC", "void"))
	live := slices.Concat(element(ebml, "head"), []byte("\x18\x53\x80\x67\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), []byte("clusters"))
	asf := slices.Concat([]byte(asfHeader), object("head"), []byte("data of the file"), object(asfHeader+" in packets"))
	flac := slices.Concat([]byte("fLaC\x00\x00\x00\x22"), bytes.Repeat([]byte("fLaC or fLa"), 777))
	for name, one := range map[string][]byte{"ogg": ogg, "flv": flv, "mkv": mkv, "asf": asf, "flac": flac} {
		for n := 1; n <= 3; n++ {
			all := bytes.Repeat(one, n)
			got := Parts(bytes.NewReader(all), int64(len(all)))
			if len(got) != n {
				t.Errorf("%s: %d of %d parts", name, len(got), n)
				continue
			}
			for i, p := range got {
				if p.From != int64(i*len(one)) || p.Size() != int64(len(one)) {
					t.Errorf("%s: part %d of %d is %v", name, i, n, p)
				}
			}
		}
		for cut := range one { // whatever is there, is a part
			all := slices.Concat(one, one[:cut])
			got := Parts(bytes.NewReader(all), int64(len(all)))
			if got[0].From != 0 || got[len(got)-1].To != int64(len(all)) || len(got) > 2 {
				t.Errorf("%s: cut at %d: %v", name, cut, got)
			}
		}
	}
	for _, alone := range [][]byte{nil, []byte("OggS"), []byte("RIFF and more"), slices.Concat(live, live), []byte(asfHeader + "\x30\x00\x00\x00\x00\x00\x00\x80" + asfHeader)} {
		if got := Parts(bytes.NewReader(alone), int64(len(alone))); len(got) != 1 || got[0] != (Part{0, int64(len(alone))}) {
			t.Errorf("%q: %v", alone, got)
		}
	}
	if got := Chain(bytes.NewReader(slices.Concat(mkv, mkv)), int64(2*len(mkv))); len(got) != 1 {
		t.Errorf("sound of Matroska is apart: %v", got)
	}
}

func TestTagsBeforeTheFirstPart(t *testing.T) {
	tags := []byte("ID3\x04\x00\x00\x00\x00\x00\x05helloID3\x03\x00\x00\x00\x00\x00\x00")
	one := slices.Concat(page(2, 1), page(0, 3), page(4, 5))
	all := slices.Concat(tags, one, one)
	n, size := int64(len(tags)), int64(len(all))
	if got := Parts(bytes.NewReader(all), size); !slices.Equal(got, []Part{{n, n + int64(len(one))}, {n + int64(len(one)), size}}) {
		t.Errorf("Ogg is %v", got)
	}
	for rest, begin := range map[string]int64{"RIFF\x00\x00\x00\x00WAVE": n, "\x00\x00\x00\x18ftypM4A ": n, "caff": n, "\xFF\xFB\x90\x64 of MP3": 0, "fLaC": 0, "": 0} {
		all := append(slices.Clip(tags), rest...)
		if got := Begin(bytes.NewReader(all), int64(len(all))); got != begin {
			t.Errorf("%q begins at %d, want %d", rest, got, begin)
		}
	}
}

func FuzzParts(f *testing.F) {
	f.Add(slices.Concat(page(2, 1), page(0, 3), page(2, 1)))
	f.Add([]byte("FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00\x09\x00\x00\x00"))
	f.Add([]byte("ID3\x04\x00\x00\x00\x00\x00\x00OggS"))
	f.Add(slices.Concat(element(ebml, "head"), element(ebml, "head")))
	f.Add([]byte("fLaC\x00\x00\x00\x22fLaC\x80\x00\x00\x22"))
	f.Add(slices.Concat([]byte(asfHeader), object(""), []byte(asfHeader), object("")))
	f.Fuzz(func(t *testing.T, data []byte) {
		at := Begin(bytes.NewReader(data), int64(len(data)))
		for _, p := range Parts(bytes.NewReader(data), int64(len(data))) {
			if p.From != at || p.To < p.From || p.Size() == 0 && len(data) > 0 {
				t.Fatalf("%v after %d", p, at)
			}
			at = p.To
		}
		if at != int64(len(data)) {
			t.Fatalf("they end at %d of %d", at, len(data))
		}
	})
}
