/**
 * A stand-in for full-text search, which is not supported. The class can be imported and named, and throws an error
 * that names it when constructed.
 */
export class SearchFilter {
  constructor() {
    throw new Error('SearchFilter is not supported: there is no full-text search');
  }
}
