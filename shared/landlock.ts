/**
 * What stands before the executable of a process so that the kernel itself holds what it may do with files: it reads these paths, and writes,
 * makes and removes nothing; it makes no TCP connections and signals no process outside (as far as the kernel's Landlock goes). It is
 * for processes whose code we confine in JavaScript too: a fault of V8 or of Node's permission model then reaches as little as before.
 *
 * Landlock is three system calls, with the same numbers on every architecture; Node has none of them, Perl can make any. The process is
 * Perl until it has put the rules on itself, and then becomes the executable.
 */
import {existsSync, realpathSync} from 'node:fs';
import {dirname, join} from 'node:path';

/** Bits of the kernel's header landlock.h: all rights to write by version of the interface, TCP from 4 on, signals and abstract sockets from 6 on. */
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

/** Libraries, certificates, time zones, and what the kernel shows of itself. Of /proc the memory of other processes stays closed. */
const SYSTEM = [
  ...['/usr', '/lib', '/lib64', '/etc', '/nix/store', '/gnu/store'],
  ...['/proc', '/sys', '/dev/null', '/dev/zero', '/dev/random', '/dev/urandom'],
];

/** @param binary the executable of Node. @param paths what the process reads in addition to it */
export function readingOnly(binary: string, paths: readonly string[]): readonly string[] {
  // One that is not there is the executable's own failure.
  const real = existsSync(binary) ? realpathSync(binary) : binary;
  // Of some builds, its libraries.
  const libraries = join(dirname(dirname(real)), 'lib');
  return ['perl', '-e', RULES, ...[...SYSTEM, real, libraries, ...paths].filter(path => existsSync(path)), '--'];
}
