export * from 'svc/compat/server';
