package store

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// ErrScheme marks a name whose scheme has no store.
var ErrScheme = errors.New("store: unknown scheme")

// ErrName marks a name that no object can have.
var ErrName = errors.New("store: invalid name")

// file is the scheme of the files of this machine.
const file = "file"

// Scheme splits a name into its scheme, in lower case, and what follows "://". A scheme
// is a letter and then letters, digits, '+', '-' or '.', two characters or more; all
// other names are paths, such as a:b.jpg, C:\x.jpg, C://x.jpg and data/s3://x.jpg. To
// name a file below a folder that is called like a scheme, begin with "./".
func Scheme(name string) (scheme, rest string, ok bool) {
	if name == "" || !isLetter(name[0]) { // as most paths
		return "", name, false
	}
	at := strings.Index(name, "://")
	if at < 2 {
		return "", name, false
	}
	for i := range at {
		switch c := name[i]; {
		case isLetter(c), '0' <= c && c <= '9', c == '+', c == '-', c == '.':
		default:
			return "", name, false
		}
	}
	return strings.ToLower(name[:at]), name[at+len("://"):], true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// Of returns the store of a name, and the object's name there. Names without a scheme and
// those of file:// are paths of this machine, for [Local].
func Of(name string) (s Store, object string, err error) {
	scheme, rest, ok := Scheme(name)
	switch {
	case !ok:
		return Local{}, name, nil
	case scheme == file:
		object, err = pathOf(name, rest, false)
		return Local{}, object, err
	}
	mu.RLock()
	defer mu.RUnlock()
	if s = stores[scheme]; s == nil {
		return nil, "", unknown(scheme, name)
	}
	switch {
	case strings.IndexByte(rest, 0) >= 0:
		return nil, "", fmt.Errorf("%w: %q has a zero byte", ErrName, Shown(name))
	case isSigned(scheme, rest): // names are in recipes, states and keys of samples
		return nil, "", fmt.Errorf("%w: %q was given with a shared access signature: put what is after the question mark into "+
			"AZURE_STORAGE_SAS_TOKEN, and leave it out of the name", ErrName, Shown(name))
	}
	return s, rest, nil
}

// Plain returns the path of a file:// name. Other names stay as they are; those whose
// scheme has no store are an error.
func Plain(name string) (string, error) {
	if _, _, ok := Scheme(name); !ok {
		return name, nil
	}
	s, object, err := Of(name)
	if err == nil && isLocal(s) {
		name = object
	}
	return name, err
}

// others are schemes that other programs have for the same names.
var others = map[string]string{"s3a": "s3", "s3n": "s3", "gcs": "gs", "azure": "az", "wasb": "abfs", "wasbs": "abfss", "hub": "hf"}

// unknown returns the one error about a scheme without a store, for all callers.
func unknown(scheme, name string) error {
	if ours := others[scheme]; ours != "" && stores[ours] != nil {
		return fmt.Errorf("%w: %q: write %s:// instead of %s://", ErrScheme, Shown(name), ours, scheme)
	}
	known := []string{"file://"}
	for _, s := range slices.Sorted(maps.Keys(stores)) {
		known = append(known, s+"://")
	}
	return fmt.Errorf("%w: %q: %s:// names cannot be read or written here, only paths and %s: "+
		"copy the data to a disk or mount it, and give that path",
		ErrScheme, Shown(name), scheme, strings.Join(known, ", "))
}

// Shown returns a name as messages have it: without the password and the query of a URL,
// which may be secret. Paths stay as they are.
func Shown(name string) string {
	scheme, rest, ok := Scheme(name)
	if !ok {
		return name
	}
	host, object, slash := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 && !strings.HasPrefix(scheme, "abfs") { // container@account
		host = "…" + host[at:]
	}
	if slash {
		host += "/"
	}
	if strings.HasPrefix(scheme, "http") || isSigned(scheme, object) {
		object, _, _ = strings.Cut(object, "?")
	}
	return name[:len(scheme)] + "://" + host + object
}

// isSigned tells whether the name of a blob was written with the signature of a URL.
func isSigned(scheme, object string) bool {
	_, query, _ := strings.Cut(object, "?")
	return (scheme == "az" || strings.HasPrefix(scheme, "abfs")) && strings.Contains(query, "sig=")
}

// pathOf returns the path of a file:// name. In a pattern, the characters written as %2A,
// %3F and %5B are no wildcards.
func pathOf(name, rest string, pattern bool) (string, error) {
	host, _, _ := strings.Cut(rest, "/")
	switch {
	case host != "" && !strings.EqualFold(host, "localhost"):
		return "", fmt.Errorf("%w: %q is a file of the host %q: mount its folder and give that path; "+
			"a file of this machine is file:///%s", ErrName, name, host, rest)
	case len(rest) == len(host):
		return "", fmt.Errorf("%w: %q has no path: write file:///, and the path without its first slash", ErrName, name)
	}
	coded := rest[len(host):]
	if strings.IndexByte(coded, '%') < 0 {
		return coded, nil
	}

	var b strings.Builder
	for i := 0; i < len(coded); i++ {
		c := coded[i]
		if c != '%' {
			b.WriteByte(c)
			continue
		}
		high, low := -1, -1
		if i+2 < len(coded) {
			high, low = digit(coded[i+1]), digit(coded[i+2])
		}
		if high < 0 || low < 0 {
			return "", fmt.Errorf("%w: %q has a %% without two hexadecimal digits after it: write a percent sign as %%25", ErrName, name)
		}
		switch c = byte(high<<4 | low); {
		case c == 0:
			return "", fmt.Errorf("%w: %q has a zero byte", ErrName, name)
		case pattern && strings.IndexByte("*?[", c) >= 0:
			b.WriteString("[" + string(c) + "]")
		default:
			b.WriteByte(c)
		}
		i += 2
	}
	return b.String(), nil
}

// digit returns the value of a hexadecimal digit, or -1.
func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case isLetter(c) && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// isLocal reports whether a store is that of this machine.
func isLocal(s Store) bool {
	_, local := s.(Local)
	return local
}

// Under resolves a name against the folder to which relative names belong. Names with a
// scheme and absolute paths stay as they are.
func Under(root, name string) string {
	if _, _, ok := Scheme(name); ok {
		return name
	}
	return under(root, name)
}

// Join is path.Join of a folder, which may be a store's, and names in it.
func Join(folder string, names ...string) string {
	if scheme, rest, ok := Scheme(folder); ok {
		return folder[:len(scheme)] + "://" + strings.TrimPrefix(path.Join(append([]string{"/", rest}, names...)...), rootOf(scheme))
	}
	return path.Join(append([]string{folder}, names...)...)
}

// rootOf returns the beginning of path.Join's results that names of objects lack.
func rootOf(scheme string) string {
	if scheme == file {
		return ""
	}
	return "/"
}

// Clean is path.Clean of a name, which may be a store's.
func Clean(name string) string {
	if _, _, ok := Scheme(name); ok {
		return Join(name)
	}
	return path.Clean(name)
}

// Dir is path.Dir of a name, which may be a store's.
func Dir(name string) string { return Join(name[:strings.LastIndexByte(name, '/')+1]) }
