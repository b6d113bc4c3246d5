"""Lists of steps.

Made of the descriptions of operations, in Go, by `go test ./recipe -run Methods -rewrite`: do not edit.
"""

# The steps on an image, which can be those of a view.
ON_IMAGES = {
    "resize",
    "resize_to_bucket",
    "center_crop",
    "random_crop",
    "random_resized_crop",
    "pad",
    "random_flip",
    "random_vertical_flip",
    "rotate90",
    "random_rotate90",
    "color_jitter",
    "grayscale",
    "random_grayscale",
    "gaussian_blur",
    "random_solarize",
    "solarize",
    "normalize",
    "layout",
}

# What to write instead of transforms of other libraries.
INSTEAD = {
    "Resize": ".resize(256)",
    "CenterCrop": ".center_crop(224)",
    "RandomCrop": ".random_crop(32)",
    "RandomResizedCrop": ".random_resized_crop(224, scale=scale, ratio=ratio)",
    "Pad": ".pad(4)",
    "RandomHorizontalFlip": ".random_flip(p)",
    "RandomVerticalFlip": ".random_vertical_flip(p)",
    "ColorJitter": ".color_jitter(0.4, 0.4, 0.4, 0.1)",
    "Grayscale": ".grayscale()",
    "RandomGrayscale": ".random_grayscale(p)",
    "GaussianBlur": ".gaussian_blur(kernel_size, sigma)",
    "RandomSolarize": ".random_solarize(threshold, p)",
    "solarize": ".solarize(threshold)",
    "Normalize": ".normalize(mean, std)",
}
