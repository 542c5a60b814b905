/**
 * The command prefix that confines a process with the kernel's Landlock: it can read only these paths, and cannot
 * write, create or remove anything, make TCP connections or signal processes outside (as far as the kernel's Landlock
 * version goes). It is also used for processes whose code we confine in JavaScript: a fault of V8 or of Node's
 * permission model then gains no further access.
 *
 * Landlock is three system calls, with the same numbers on every architecture. Node has none of them; Perl can make
 * any. The process is Perl until it has applied the rules to itself, and then executes the target.
 */
import {existsSync, realpathSync} from 'node:fs';
import {dirname, join} from 'node:path';

/**
 * Bits of the kernel's header landlock.h: all write rights by version of the interface, TCP from version 4 on, signals
 * and abstract sockets from version 6 on.
 */
const RULES = `
  my @reads; push @reads, shift while $ARGV[0] ne '--'; shift;
  my $version = syscall(444, 0, 0, 1);
  die "the kernel has no Landlock\\n" if $version < 1;
  my $rights = 0x1ffe | ($version > 1 && 0x2000) | ($version > 2 && 0x4000) | ($version > 4 && 0x8000);
  my $rules = pack 'Q3', $rights, 3, 3;
  my $set = syscall(444, $rules, $version > 5 ? 24 : $version > 3 ? 16 : 8, 0);
  die "Landlock: $!\\n" if $set < 0;
  for my $path (@reads) {
    sysopen(my $file, $path, 0x280000) or next;
    my $rule = pack 'Ql', -d $path ? 12 : 4, fileno $file;
    syscall(445, $set, 1, $rule, 0) == 0 or die "Landlock, $path: $!\\n";
  }
  syscall(446, $set, 0) == 0 or die "Landlock: $!\\n";
  exec {$ARGV[0]} @ARGV or die "$ARGV[0]: $!\\n";
`.replaceAll(/\s*\n\s*/g, ' ');

/**
 * Libraries, certificates, time zones, and what the kernel publishes. Within /proc the memory of other processes stays
 * closed.
 */
const SYSTEM = [
  ...['/usr', '/lib', '/lib64', '/etc', '/nix/store', '/gnu/store'],
  ...['/proc', '/sys', '/dev/null', '/dev/zero', '/dev/random', '/dev/urandom'],
];

/** @param binary the executable of Node. @param paths further paths that the process reads */
export function readingOnly(binary: string, paths: readonly string[]): readonly string[] {
  // A missing executable makes the start itself fail.
  const real = existsSync(binary) ? realpathSync(binary) : binary;
  // Some builds have their libraries here.
  const libraries = join(dirname(dirname(real)), 'lib');
  return ['perl', '-e', RULES, ...[...SYSTEM, real, libraries, ...paths].filter(path => existsSync(path)), '--'];
}
