/** The bundler answers `require` of a package at build time; nothing of Node is there when the script runs. */
declare function require(name: string): unknown;
