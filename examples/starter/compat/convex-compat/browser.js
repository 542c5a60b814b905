export * from 'svc/compat/browser';
