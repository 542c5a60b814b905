/** The build replaces this file by imports of every stylesheet, because esbuild does not load those of chunks. */
export {};
