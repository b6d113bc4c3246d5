package tarfile

import (
	"bytes"
	"strconv"
)

// records reads an extended header: lines like "30 path=a/long/name.jpg\n", of which the
// number is the length of the line. What has no value is unset.
func records(b []byte, into map[string]string) bool {
	for len(b) > 0 {
		space := bytes.IndexByte(b[:min(len(b), 12)], ' ')
		if space <= 0 {
			return len(bytes.Trim(b, "\x00")) == 0 // some programs pad with zeros
		}
		n, ok := decimal(string(b[:space]))
		if !ok || n <= int64(space)+1 || n > int64(len(b)) || b[n-1] != '\n' {
			return false
		}
		key, value, ok := bytes.Cut(b[space+1:n-1], []byte("="))
		if !ok || len(key) == 0 {
			return false
		}
		switch {
		case len(value) == 0:
			delete(into, string(key))
		case string(key) == "GNU.sparse.offset" || string(key) == "GNU.sparse.numbytes":
			// The first form of sparse files has these again and again, in pairs.
			if all := into["GNU.sparse.map"]; all != "" {
				value = append([]byte(all+","), value...)
			}
			into["GNU.sparse.map"] = string(value)
		default:
			into[string(key)] = string(value)
		}
		b = b[n:]
	}
	return true
}

// decimal reads a number of digits alone.
func decimal(s string) (int64, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
