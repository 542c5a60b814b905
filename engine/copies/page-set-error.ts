/**
 * Why a page set is refused. Nothing has been changed when it is thrown. The code is for programs, the message for
 * people.
 */
const CODES = {
  /** The bytes do not begin as a page set does. */
  not_a_page_set: 'it is not a page set',
  /** A later svc wrote it. */
  unknown_format: 'it has a format that this svc does not know',
  /** Node before 22.15 has no zstd. */
  no_zstd: 'it is compressed with zstd, which needs Node 22.15 or later',
  /** The bytes are not those that were written: some have changed, or the end is missing. */
  damaged: 'its bytes do not match its SHA-256',
  /** The bytes are those that were written, but they break a rule of the format. */
  invalid: 'it breaks a rule of the format',
  /** It belongs to another timeline: another tenant, or a restored file. */
  other_timeline: 'it belongs to another timeline',
  /** Its first commit is not the one after the last: sets between them are missing. */
  missing_commits: 'commits before it are missing',
  /** All its commits, or the first of them, are in already. */
  past_commits: 'its first commits are there already',
  /** Equal commit numbers with different pages: two files have continued the same timeline. */
  other_history: 'the pages before it are others',
  /** The pages are not what the set says they are once it is applied. */
  wrong_pages: 'its pages do not match their digest',
} as const;

export type PageSetCode = keyof typeof CODES;

export class PageSetError extends Error {
  override name = 'PageSetError';
  readonly code: PageSetCode;

  /** @param detail what was found, and what was expected */
  constructor(code: PageSetCode, detail: string) {
    super(`${CODES[code]}: ${detail}`);
    this.code = code;
  }
}
