"""Things in space: images and meshes seen on a sphere, clouds of points, volumes of voxels."""
