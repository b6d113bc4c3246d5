package main

import (
	"encoding/xml"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// entry is an object of a listing.
type entry struct {
	Key          string
	Size         int64
	LastModified string
	ETag         string
	StorageClass string
}

// list answers ListObjectsV2 with all of a folder at once.
func list(w http.ResponseWriter, root string, query url.Values) {
	var all []entry
	fs.WalkDir(os.DirFS(root), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasPrefix(path, query.Get("prefix")) || path <= query.Get("start-after") {
			return nil
		}
		is, err := e.Info()
		if err != nil {
			return nil
		}
		all = append(all, entry{path, is.Size(), is.ModTime().UTC().Format(time.RFC3339), tagOf(is), "STANDARD"})
		return nil
	})
	w.Header().Set("Content-Type", "application/xml")
	xml.NewEncoder(w).Encode(struct {
		XMLName     xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
		Name        string
		Prefix      string
		KeyCount    int
		MaxKeys     int
		IsTruncated bool
		Contents    []entry
	}{Name: "bucket", Prefix: query.Get("prefix"), KeyCount: len(all), MaxKeys: len(all), Contents: all})
}
