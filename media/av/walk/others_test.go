package walk

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
)

// element is one of EBML, with a size of two bytes.
func element(id uint32, body ...[]byte) []byte {
	var b []byte
	for shift := 24; shift >= 0; shift -= 8 {
		if c := byte(id >> shift); c != 0 || len(b) > 0 {
			b = append(b, c)
		}
	}
	all := slices.Concat(body...)
	return append(binary.BigEndian.AppendUint16(b, 1<<14|uint16(len(all))), all...)
}

// summedElement begins with the checksum of what follows.
func summedElement(id uint32, body ...[]byte) []byte {
	all := slices.Concat(body...)
	return element(id, append([]byte("\xBF\x84"), binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(all))...), all)
}

func TestWalksOverElements(t *testing.T) {
	const endless = "\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
	head := element(0x1A45DFA3)
	track := element(0x1654AE6B, element(0xAE, element(0xD7, []byte{1}), element(0x86, []byte("A_OPUS"))))
	at := element(0xE7, []byte{0})
	simple := element(0xA3, []byte("\x81\x00\x00\x80sound"))
	group := element(0xA0, element(0xA1, []byte("\x81\x00\x00\x00sound")), element(0x9B, []byte{9}))
	laced := func(b string) []byte { return element(0xA3, []byte(b)) }
	cluster := func(body ...[]byte) []byte { return element(0x1F43B675, append([][]byte{at}, body...)...) }
	file := func(body ...[]byte) []byte { return slices.Concat(head, element(0x18538067, body...)) }
	live := func(body ...[]byte) []byte {
		return slices.Concat(head, []byte("\x18\x53\x80\x67"+endless), track, []byte("\x1F\x43\xB6\x75"+endless), at, slices.Concat(body...))
	}
	wrong := summedElement(0x1F43B675, at, simple)
	wrong[len(wrong)-1]++
	wrongTracks := summedElement(0x1654AE6B, []byte("\xEC\x81a"))
	wrongTracks[len(wrongTracks)-1]++

	for name, c := range map[string]struct {
		file []byte
		want string // of the error
	}{
		"whole":                    {file(track, cluster(simple, group), cluster(simple), element(0x1C53BB6B)), ""},
		"live":                     {live(simple, simple, cluster(simple), simple), "no element"},
		"live, clusters":           {live(simple, []byte("\x1F\x43\xB6\x75"+endless), at, simple, element(0x1254C367)), ""},
		"live, zeros behind":       {append(live(simple), 0, 0, 0, 0), ""},
		"live, something behind":   {append(live(simple), 0, 0, 0, 9), "no element of a cluster"},
		"live, cut off":            {live(simple, simple[:8]), ""}, // package whole says so
		"a segment behind":         {slices.Concat(file(track, cluster(simple)), file(track, cluster(simple))), ""},
		"zeros behind":             {append(file(track, cluster(simple)), 0, 0, 0), ""},
		"no track is known":        {file(cluster(simple)), ""},
		"elements to come":         {file(track, cluster(simple, element(0x4FFF, []byte("new"))), element(0x1FFFFFFE, []byte("new"))), ""},
		"a sum":                    {file(track, summedElement(0x1F43B675, at, simple)), ""},
		"a wrong sum":              {file(track, wrong), "the checksum of a cluster is wrong"},
		"a wrong sum of tracks":    {file(wrongTracks, cluster(simple)), "the checksum of its tracks is wrong"},
		"zeros between":            {file(track, cluster(simple), []byte{0, 0, 0}, cluster(simple)), "no element of Matroska begins"},
		"a cluster of another id":  {file(track, element(0x1F, at, simple), cluster(simple)), "no element of Matroska begins"},
		"beyond the segment":       {slices.Concat(head, []byte("\x18\x53\x80\x67\x40\x14"), cluster(simple, simple)), "and what it is in ends at 32"},
		"beyond the cluster":       {file(track, cluster(simple, []byte("\xA3\x8F\x81\x00\x00\x80")), cluster(simple)), "the element A3 goes on to byte"},
		"a cluster that is longer": {file(track, element(0x1F43B675, at, simple, []byte("\xA3")), cluster(simple)), "A3"},
		"another element":          {file(track, cluster(element(0xA2, []byte("\x81\x00\x00\x80sound")))), "the element A2 is none of a cluster"},
		"a number of nine bytes":   {file(track, cluster(element(0xA7, []byte("\x81\x00\x00\x80sound")))), "is a number of 9 bytes"},
		"without a time":           {file(track, element(0x1F43B675, simple, at)), "before the time of its cluster"},
		"of another track":         {file(track, cluster(element(0xA3, []byte("\x82\x00\x00\x80sound")))), "of track 2, which the file has not"},
		"a short block":            {file(track, cluster(element(0xA3, []byte("\x81\x00")))), "too short"},
		"a group without a block":  {file(track, cluster(element(0xA0, element(0x9B, []byte{1})))), "has none"},
		"a group of others":        {file(track, cluster(element(0xA0, element(0xA1, []byte("\x81\x00\x00\x00s")), []byte("\xA3\x80")))), "is none of a group"},
		"a block in a group":       {file(track, cluster(element(0xA0, element(0xA1, []byte("\x83\x00\x00\x00s"))))), "of track 3"},
		"without its end":          {file(track, []byte("\x10\x43\xA7\x70"+endless), cluster(simple)), "does not say where it ends"},

		"xiph":          {file(track, cluster(laced("\x81\x00\x00\x02\x02\x01\x02abbccc"))), ""},
		"xiph, long":    {file(track, cluster(laced("\x81\x00\x00\x02\x01\xFF\x01"+strings.Repeat("a", 300)))), ""},
		"xiph, wrong":   {file(track, cluster(laced("\x81\x00\x00\x02\x02\x01\x09abbccc"))), "sizes of the frames"},
		"ebml":          {file(track, cluster(laced("\x81\x00\x00\x06\x02\x81\xC0abbccc"))), ""},
		"ebml, wrong":   {file(track, cluster(laced("\x81\x00\x00\x06\x02\x81\x81abbccc"))), "sizes of the frames"},
		"ebml, long":    {file(track, cluster(laced("\x81\x00\x00\x06\x01\x8Fabbccc"))), "sizes of the frames"},
		"fixed":         {file(track, cluster(laced("\x81\x00\x00\x04\x01aabb"))), ""},
		"fixed, wrong":  {file(track, cluster(laced("\x81\x00\x00\x04\x01aabbc"))), "sizes of the frames"},
		"laced of none": {file(track, cluster(laced("\x81\x00\x00\x04"))), "how many frames"},
	} {
		d := damaged(t, "matroska,webm", c.file)
		if c.want == "" && d != nil || c.want != "" && (d == nil || !strings.Contains(d.Error(), c.want)) {
			t.Errorf("%s: %v; want %q", name, d, c.want)
		}
	}
}

// tag is one of FLV, followed by its size.
func tag(kind byte, body string, off uint32) []byte {
	b := append([]byte{kind}, binary.BigEndian.AppendUint32(nil, uint32(len(body)))[1:]...)
	b = append(append(b, make([]byte, 7)...), body...)
	return binary.BigEndian.AppendUint32(b, uint32(len(b))+off)
}

func TestWalksOverTags(t *testing.T) {
	const head = "FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00"
	file := func(tags ...[]byte) []byte { return append([]byte(head), slices.Concat(tags...)...) }
	sound, picture, data := tag(8, "\xAFsound", 0), tag(9, "\x17picture", 0), tag(18, "data", 0)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"whole":             {file(data, sound, picture, sound), ""},
		"after ID3":         {append([]byte("ID3\x03\x00\x00\x00\x00\x00\x03abc"), file(data, sound, picture)...), ""},
		"sizes of bodies":   {file(tag(18, "data", ^uint32(10)), tag(8, "\xAFsound", ^uint32(10)), tag(8, "\xAFsound", ^uint32(10))), ""},
		"sizes of nothing":  {file(tag(18, "data", 99), tag(8, "\xAFsound", 99), tag(8, "\xAFsound", 99)), ""},
		"something behind":  {file(data, sound, []byte("and this is none at all")), ""},
		"cut off":           {file(data, sound[:9]), ""},
		"bytes between":     {file(data, sound, []byte("abc"), sound, picture), "no tag of FLV is there"},
		"a wrong size":      {file(data, sound, tag(8, "\xAFsound", 9), sound), "no tag of FLV is there"},
		"a wrong kind":      {file(data, sound, tag(12, "\xAFsound", 0), sound), "no tag of FLV is there"},
		"too long":          {file(data, sound, []byte("\x08\xFF\x00\x00\x00\x00\x00\x00\x00\x00\x00"), sound, sound), "no tag of FLV is there"},
		"another codec":     {file(data, sound, tag(8, "\x2Fsound", 0)), "the codec changes from number 10 to 2"},
		"another picture":   {file(data, picture, tag(9, "\x12picture", 0)), "the codec changes from number 7 to 2"},
		"a command between": {file(data, picture, tag(9, "\x52", 0), picture), ""},
	} {
		d := damaged(t, "flv", c.file)
		if c.want == "" && d != nil || c.want != "" && (d == nil || !strings.Contains(d.Error(), c.want)) {
			t.Errorf("%s: %v; want %q", name, d, c.want)
		}
	}
}

func chunk(name string, size int, body string) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte(name), uint32(size)), body...)
}

func list(name string, body ...[]byte) []byte {
	all := slices.Concat(body...)
	return chunk("LIST", 4+len(all), name+string(all))
}

func TestWalksOverChunks(t *testing.T) {
	head := list("hdrl", list("strl"), list("strl"))
	picture, sound := chunk("00dc", 8, "pictures"), chunk("01wb", 6, "sounds")
	odd := chunk("01wb", 5, "sound")
	index := chunk("idx1", 4, "abcd")
	riff := func(body ...[]byte) []byte {
		all := slices.Concat(body...)
		return chunk("RIFF", 4+len(all), "AVI "+string(all))
	}
	sized := func(size int, chunks ...[]byte) []byte {
		return chunk("LIST", size, "movi"+string(slices.Concat(chunks...)))
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"whole":                  {riff(head, list("movi", picture, sound, chunk("ix00", 2, "ab"), chunk("JUNK", 2, "ab"), list("rec ", picture, sound)), index), ""},
		"several":                {slices.Concat(riff(head, list("movi", picture)), riff(list("movi", picture, sound))), ""},
		"tags behind":            {append(riff(head, list("movi", picture)), "and more of it"...), ""},
		"odd":                    {riff(head, list("movi", odd, []byte{0}, odd, []byte{0}, picture), index), ""},
		"odd, without a pad":     {riff(head, list("movi", odd, odd, picture), index), ""},
		"zeros at the end":       {riff(head, list("movi", picture, make([]byte, 30)), index), ""},
		"live":                   {riff(head, sized(-1, picture, sound)), ""},
		"live, an index":         {riff(head, sized(0, picture, sound, index)), ""},
		"a list of another size": {riff(head, sized(34+8, picture, sound), index), ""},
		"zeros between":          {riff(head, list("movi", picture, make([]byte, 30), picture), index), "no chunk begins there"},
		"of no stream":           {riff(head, list("movi", picture, chunk("02wb", 4, "none"), picture), index), "no chunk begins there"},
		"a letter":               {riff(head, list("movi", picture, chunk("p1wb", 4, "none"), picture), index), "no chunk begins there"},
		"too long":               {riff(head, list("movi", picture, chunk("01wb", 99, "none"), picture), index), "its list ends at"},
		"a list that is short":   {riff(head, sized(22, picture, picture), index), "should end there"},
		"in no list":             {riff(head, sized(20, picture, picture), index), "the chunk 00dc is in no list"},
	} {
		d := damaged(t, "avi", c.file)
		if c.want == "" && d != nil || c.want != "" && (d == nil || !strings.Contains(d.Error(), c.want)) {
			t.Errorf("%s: %v; want %q", name, d, c.want)
		}
	}
}

// ac3Frame is a frame of 128 bytes, at 48 kHz.
func ac3Frame() []byte { return append([]byte{0x0B, 0x77, 0, 0, 0, 8 << 3}, make([]byte, 122)...) }

func TestWalksOverFrames(t *testing.T) {
	one := ac3Frame()
	longer := append([]byte{0x0B, 0x77, 0, 0, 6, 8 << 3}, make([]byte, 122)...)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"whole":         {slices.Concat(one, one, one, one), ""},
		"tags behind":   {slices.Concat(one, one, []byte("TAG and more")), ""},
		"cut off":       {slices.Concat(one, one, one[:4]), ""},
		"bytes between": {slices.Concat(one, one, []byte("abc"), one, one), "a frame should begin there"},
		"a longer one":  {slices.Concat(one, longer, one, one, one), "a frame should begin there"},
		"another head":  {slices.Concat(one, make([]byte, 128), one, one), "a frame should begin there"},
	} {
		d := damaged(t, "ac3", c.file)
		if c.want == "" && d != nil || c.want != "" && (d == nil || !strings.Contains(d.Error(), c.want)) {
			t.Errorf("%s: %v; want %q", name, d, c.want)
		}
	}
}

// transport makes a packet of a stream, with a time if there is one.
func transport(id uint16, count byte, time int64) []byte {
	p := make([]byte, 188)
	p[0] = 'G'
	binary.BigEndian.PutUint16(p[1:], id)
	p[3] = 0x10 | count&15
	if time >= 0 {
		p[1] |= 0x40
		copy(p[4:], "\x00\x00\x01\xC0\x00\x00\x80\x80\x05")
		p[13] = 0x21 | byte(time>>30&7)<<1
		binary.BigEndian.PutUint16(p[14:], uint16(time>>15)<<1|1)
		binary.BigEndian.PutUint16(p[16:], uint16(time)<<1|1)
	}
	return p
}

func TestWalksOverTransportPackets(t *testing.T) {
	stream := func(id uint16, from, n int, begins int64) (all [][]byte) {
		for i := range n {
			time := int64(-1)
			if i%3 == 0 {
				time = begins + int64(i)*3000
			}
			all = append(all, transport(id, byte(from+i), time))
		}
		return all
	}
	one, all := stream(0x100, 0, 40, 90000), slices.Concat[[]byte]
	wide := func(packets [][]byte) (b []byte) {
		for _, p := range packets {
			b = append(append(b, 0, 0, 0, 0), p...)
		}
		return b
	}
	empty := transport(0x100, 9, -1)
	empty[3] = 0x29 // with nothing in it
	empty[4] = 183
	reset := transport(0x100, 3, 90000)
	reset[3], reset[4], reset[5] = 0x33, 1, 0x80
	other := stream(0x101, 7, 9, 0)

	for name, c := range map[string]struct {
		file   []byte
		want   string
		stream int
	}{
		"whole":                {all(one...), "", 0},
		"192 bytes":            {wide(one), "", 0},
		"in the middle":        {all(one...)[100:], "", 0},
		"cut off":              {all(one...)[:188*20+9], "", 0},
		"tags behind":          {append(all(one...), "something"...), "", 0},
		"an empty one":         {all(slices.Insert(slices.Clone(one), 10, empty)...), "", 0},
		"a mark":               {all(all(one[:10]...), reset, transport(0x100, 4, -1), transport(0x100, 5, -1)), "", 0},
		"joined":               {all(all(one...), all(stream(0x100, 3, 9, 90000)...)), "", 0},
		"joined, far ahead":    {all(all(one...), all(stream(0x100, 3, 9, 90000*60)...)), "", 0},
		"one is missing":       {all(slices.Delete(slices.Clone(one), 20, 21)...), "packets of the stream 0x100 are missing", 0x100},
		"one comes twice":      {all(slices.Insert(slices.Clone(one), 20, one[19])...), "packets of the stream 0x100 are missing", 0x100},
		"a table is missing":   {all(all(one[:9]...), transport(0, 1, -1), transport(0, 7, -1), all(one[9:]...)), "", 0},
		"bytes are missing":    {all(all(one[:9]...), one[9][:100], all(one[10:]...)), "100 bytes are no packet", -1},
		"bytes between":        {all(all(one[:9]...), []byte("abc"), all(one[9:]...)), "3 bytes are no packet", -1},
		"of one of two stream": {all(all(one...), all(other[:3]...), all(other[4:]...)), "packets of the stream 0x101", 0x101},
	} {
		d := damaged(t, "mpegts", c.file)
		if c.want == "" && d != nil || c.want != "" && (d == nil || !strings.Contains(d.Error(), c.want) || d.Stream != c.stream) {
			t.Errorf("%s: %v; want %q", name, d, c.want)
		}
	}
}
