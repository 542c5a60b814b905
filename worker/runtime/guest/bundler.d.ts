/** Declares `require`, which the bundler resolves at build time; Node is not available when the script runs. */
declare function require(name: string): unknown;
