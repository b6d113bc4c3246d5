package wav

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/headrace/headrace/media/sound"
)

// Sphere is NIST SPHERE, for [sound.Register]: the files of many collections of speech.
var Sphere = sound.Format{
	Name: "sphere", Suffixes: []string{".sph", ".nist", ".wv1", ".wv2"},
	Is: func(file []byte) bool { return bytes.HasPrefix(file, sphereMark) },
	Open: func(file []byte, o sound.Options) (sound.Stream, error) {
		return openTrack(openSphere, sound.InMemory(file), o)
	},
	OpenAt: func(file sound.File, o sound.Options) (sound.Stream, error) {
		return openTrack(openSphere, sound.OnDisk(file, together), o)
	},
}

var sphereMark = []byte("NIST_1A\n")

// The second line says how many bytes the header has.
const (
	sphereLines    = 16
	mostSphereHead = 1 << 20
)

func openSphere(file *sound.Content, keep bool) (*File, error) {
	b, err := file.Bytes(0, sphereLines)
	if err != nil {
		return nil, err
	}
	size, wrong := 0, true
	if len(b) == sphereLines {
		n, err := strconv.Atoi(strings.TrimSpace(string(b[len(sphereMark):])))
		size, wrong = n, err != nil
	}
	if wrong || size < sphereLines || size > mostSphereHead || int64(size) > file.Size() {
		return nil, fmt.Errorf("sphere: the file is damaged: %q should say how many bytes its header has", b[min(len(b), len(sphereMark)):])
	}
	if b, err = file.Bytes(0, size); err != nil {
		return nil, err
	}
	head, err := sphereFields(b[sphereLines:])
	if err != nil {
		return nil, err
	}
	f := &File{content: file, keep: keep}
	return f, f.sphere(head, int64(size))
}

// sphereFields reads lines such as "sample_rate -i 16000".
func sphereFields(b []byte) (map[string]string, error) {
	head := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "end_head" {
			return head, nil
		}
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, value, ok := strings.Cut(rest, " "); ok && strings.HasPrefix(rest, "-") {
			head[name] = strings.TrimSpace(value)
		}
	}
	return nil, fmt.Errorf("sphere: the file is damaged: its header does not end with end_head")
}

// sphere takes what the header says. Samples are at a place, up to the end.
func (f *File) sphere(head map[string]string, at int64) error {
	number := func(name string, otherwise, least, most int) (int, error) {
		text, ok := head[name]
		if !ok && otherwise >= 0 {
			return otherwise, nil
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("sphere: the file is damaged: its %s is %q", name, text)
		}
		return n, nil
	}

	var err error
	if f.info.Channels, err = number("channel_count", 1, 1, mostChannels); err != nil {
		return err
	}
	if f.info.Rate, err = number("sample_rate", -1, 1, 1<<31-1); err != nil {
		return err
	}
	if err := f.sphereCoding(head); err != nil {
		return err
	}

	left := (f.content.Size() - at) / int64(f.width*f.info.Channels)
	n, err := number("sample_count", int(left), 0, 1<<62)
	if err != nil {
		return err
	}
	if int64(n) > left {
		if err := f.ends("sphere", left, int64(n)); err != nil {
			return err
		}
		n = int(left)
	}
	f.info.Samples, f.parts = int64(n), []part{{at, int64(n)}}
	return nil
}

// sphereCodings are those that are known, by name, bytes and order of these.
var sphereCodings = func() map[string]map[string]coding {
	pcm := map[string]coding{
		"1": signed8, "2 0": pcm16, "2 1": pcm16Big,
		"3 0": pcm24, "3 1": pcm24Big, "3 2": pcm24Big, "4 0": pcm32, "4 1": pcm32Big, "4 3": pcm32Big,
	}
	a, mu := map[string]coding{"1": aLaw}, map[string]coding{"1": muLaw}
	return map[string]map[string]coding{"pcm": pcm, "alaw": a, "a-law": a, "ulaw": mu, "mu-law": mu, "mulaw": mu}
}()

// sphereCoding is how samples are written. Bytes are numbered by their value in
// sample_byte_format: of "01" the lowest comes first.
func (f *File) sphereCoding(head map[string]string) error {
	name, order, width := head["sample_coding"], head["sample_byte_format"], head["sample_n_bytes"]
	if name == "" {
		name = "pcm"
	}
	if i := strings.Index(name, ",embedded-"); i >= 0 {
		return fmt.Errorf("sphere: the samples are compressed by %s: unpack the file first, as with sph2pipe or w_decode",
			name[i+len(",embedded-"):])
	}
	if width == "" {
		width = strconv.Itoa(max(len(order), 1))
	}
	key := width
	if width != "1" {
		key += " " + order[:min(len(order), 1)] // some number two bytes of more
	}
	f.coding = sphereCodings[name][key]
	if f.coding == nil {
		return fmt.Errorf("sphere: the samples are %q of %s bytes, %q: must be pcm, alaw or ulaw", name, width, order)
	}
	f.width, _ = strconv.Atoi(width)
	return nil
}
