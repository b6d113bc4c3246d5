// With libtiff linked in, as in wheels: what it is left without. JBIG-KIT is under the GPL,
// and LERC is C++; Pillow's libtiff has neither. These take the place of libtiff's own, which
// would call them.
#ifdef HR_TIFF_STATIC

extern void TIFFErrorExtR(void *tif, const char *module, const char *format, ...);

int TIFFInitJBIG(void *tif, int scheme) {
	(void)scheme;
	TIFFErrorExtR(tif, "libtiff", "compression by JBIG is not supported");
	return 0;
}

int TIFFInitLERC(void *tif, int scheme) {
	(void)scheme;
	TIFFErrorExtR(tif, "libtiff", "compression by LERC is not supported");
	return 0;
}

#endif
