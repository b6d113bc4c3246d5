package s3

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/url"
	"strings"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// page is an answer of ListObjectsV2.
type page struct {
	EncodingType          string
	IsTruncated           bool
	NextContinuationToken string
	Contents              []struct {
		Key  string
		ETag string
		Size int64
	}
}

// page reads the next page of a listing, or the first one, of the keys after one.
func (s *Store) page(ctx context.Context, bucket, prefix, after string, p *page) error {
	// Sorted, as signatures have it. XML cannot have all characters of keys, URLs can.
	query := "encoding-type=url&list-type=2"
	if p.NextContinuationToken != "" {
		query = "continuation-token=" + encode(p.NextContinuationToken, false) + "&" + query
	}
	if prefix != "" {
		query += "&prefix=" + encode(prefix, false)
	}
	if after != "" && p.NextContinuationToken == "" {
		query += "&start-after=" + encode(after, false)
	}
	return s.do(ctx, target{bucket, "", query}, nil, func(c *steady.Client, a steady.Ask) error {
		_, body, err := c.Page(ctx, a)
		if err != nil {
			return err
		}
		*p = page{}
		if err := xml.Unmarshal(body, p); err != nil {
			return fmt.Errorf("s3: the listing of %s from %s is not XML: %w", bucket, a.Host, err)
		}
		if p.EncodingType != "url" {
			return nil
		}
		for i := range p.Contents {
			c := &p.Contents[i]
			if c.Key, err = url.QueryUnescape(c.Key); err != nil {
				return fmt.Errorf("s3: the listing of %s has the key %q, which is not encoded: %w", bucket, c.Key, err)
			}
		}
		return nil
	})
}

// objects returns the objects of a page. Keys with a slash at their end are folders that
// other programs have made.
func (p *page) objects(bucket string) (all []store.Object) {
	for i := range p.Contents {
		c := &p.Contents[i]
		if !strings.HasSuffix(c.Key, "/") {
			all = append(all, store.Object{Name: bucket + "/" + c.Key, Size: c.Size, Version: steady.TagVersion(c.ETag, c.Size)})
		}
	}
	return all
}
