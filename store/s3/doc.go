// Package s3 is the store of s3:// names: the buckets of Amazon S3, and of services that
// speak like it.
//
// A program that imports it has the scheme; see store.Register. Settings and
// credentials are those of Amazon's own programs: see [settings] and [identity]. A name
// is s3://bucket/key, the key as it is: nothing in it is escaped.
//
// Listings and reads are requests of our own, signed by [sign]; package steady sends
// them. Credentials come by minio-go, which knows profiles, processes, single sign-on and
// roles.
package s3
