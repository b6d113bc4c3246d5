package oracle

import "testing"

// TarSample is a sample that webdataset reads.
type TarSample struct {
	Key   string
	Parts map[string][]byte
}

// WebDataset reads a tar file with webdataset.
func WebDataset(t testing.TB, data []byte) (all []TarSample) {
	t.Helper()
	r := ask(t, "webdataset", nil, data)
	var samples [][2]any
	r.into(t, &samples)
	next := 0
	for _, s := range samples {
		of := TarSample{s[0].(string), map[string][]byte{}}
		for _, suffix := range s[1].([]any) {
			of.Parts[suffix.(string)] = r.Blobs[next]
			next++
		}
		all = append(all, of)
	}
	return all
}

// SplitNames cuts names into keys and suffixes, as webdataset does; nil where it leaves a
// member out.
func SplitNames(t testing.TB, names []string) (all [][]string) {
	t.Helper()
	var parts [][]*string
	ask(t, "split_names", map[string]any{"names": names}).into(t, &parts)
	for _, p := range parts {
		if p[0] == nil {
			all = append(all, nil)
		} else {
			all = append(all, []string{*p[0], *p[1]})
		}
	}
	return all
}

// TarMember is one that WriteTar writes.
type TarMember struct {
	Name    string            `json:"name"`
	Kind    string            `json:"kind"` // file, hard, soft, folder, device
	Link    string            `json:"link"`
	Pax     map[string]string `json:"pax"`
	Content []byte            `json:"-"`
}

// WriteTar has Python's tarfile write an archive, in the format gnu, pax or ustar.
func WriteTar(t testing.TB, format string, global map[string]string, members ...TarMember) []byte {
	t.Helper()
	contents := make([][]byte, len(members))
	for i, m := range members {
		contents[i] = m.Content
	}
	return ask(t, "write_tar", map[string]any{"format": format, "global": global, "members": members}, contents...).Blobs[0]
}
